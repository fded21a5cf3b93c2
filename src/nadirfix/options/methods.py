"""Published descriptors that can be compared with ours: what each is, and which file it takes.

Architectures are ours, written from the papers; the files are their authors'.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "PublishedMethod"]


@dataclass(frozen=True, kw_only=True)
class PublishedMethod:
    """A published network: its name in the table, what it is, where it was published, its official file."""

    name: str
    title: str
    paper: str
    checkpoint: str
    size_px: tuple[int, int]


#: In the order they were published.
PUBLISHED = (
    PublishedMethod(
        name="netvlad",
        title="NetVLAD: VGG-16, 64 clusters",
        paper="Arandjelović et al., CVPR 2016",
        checkpoint="checkpoint of pytorch-NetVlad (VGG-16, 64 clusters, Pittsburgh)",
        size_px=(320, 240),
    ),
    PublishedMethod(
        name="cosplace",
        title="CosPlace: ResNet-50, generalised mean, 2048 numbers",
        paper="Berton, Masone, Caputo, CVPR 2022",
        checkpoint="ResNet50_2048_cosplace.pth",
        size_px=(320, 320),
    ),
    PublishedMethod(
        name="mixvpr",
        title="MixVPR: ResNet-50 to stage 3, 4096 numbers",
        paper="Ali-bey, Chaib-draa, Giguère, WACV 2023",
        checkpoint="resnet50_MixVPR_4096_channels(1024)_rows(4).ckpt",
        size_px=(320, 320),
    ),
    PublishedMethod(
        name="eigenplaces",
        title="EigenPlaces: ResNet-50, generalised mean, 2048 numbers",
        paper="Berton, Trivigno, Caputo, Masone, ICCV 2023",
        checkpoint="ResNet50_2048_eigenplaces.pth",
        size_px=(320, 320),
    ),
    PublishedMethod(
        name="anyloc-gem",
        title="AnyLoc-style: DINOv2 values, generalised mean",
        paper="Keetha et al., RA-L 2023; Oquab et al. 2023",
        checkpoint="dinov2_vits14_pretrain.pth, or that of vitb14 or vitl14",
        size_px=(224, 224),
    ),
    PublishedMethod(
        name="anyloc-vlad",
        title="AnyLoc-style: DINOv2 values, VLAD with a vocabulary of the map's own",
        paper="Keetha et al., RA-L 2023; Oquab et al. 2023",
        checkpoint="dinov2_vits14_pretrain.pth, or that of vitb14 or vitl14",
        size_px=(224, 224),
    ),
    PublishedMethod(
        name="salad",
        title="SALAD: DINOv2 ViT-B/14, optimal transport to 64 clusters",
        paper="Izquierdo, Civera, CVPR 2024",
        checkpoint="dino_salad.ckpt",
        size_px=(322, 322),
    ),
)
