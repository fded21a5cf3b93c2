"""A camera with a bent lens that tests photograph waves with: the forward models, written out once more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera, Lens

Floats = NDArray[np.float64]


def bent(x: Floats, y: Floats, lens: Lens) -> tuple[Floats, Floats]:
    """Where the ray (x, y, 1) ends, in pixels right of and below the middle of the frame."""
    r2 = x * x + y * y
    if lens.model == "fisheye":
        k1, k2, k3, k4 = lens.radial
        r = np.sqrt(r2)
        a = np.arctan(r)
        a = a * (1 + k1 * a**2 + k2 * a**4 + k3 * a**6 + k4 * a**8)
        long = np.where(r > 1e-12, a / np.maximum(r, 1e-12), 1.0)
        u, v = x * long, y * long
    else:
        (k1, k2, k3), (p1, p2) = lens.radial, lens.tangential
        long = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
        u = x * long + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
        v = y * long + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
    return u * lens.fx_px + lens.center_px[0], v * lens.fy_px + lens.center_px[1]


def rays(camera: Camera) -> tuple[Floats, Floats]:
    """The ray of every pixel's middle, through the lens where there is one (by Newton's method)."""
    across = np.arange(camera.width_px) - (camera.width_px - 1) / 2
    down = np.arange(camera.height_px) - (camera.height_px - 1) / 2
    u, v = np.meshgrid(across, down)
    if camera.lens is None:
        return u / camera.fx_px, v / camera.fy_px
    x, y = u / camera.lens.fx_px, v / camera.lens.fy_px
    for _ in range(30):
        at, step = bent(x, y, camera.lens), 1e-6
        right, below = bent(x + step, y, camera.lens), bent(x, y + step, camera.lens)
        a, b = (right[0] - at[0]) / step, (below[0] - at[0]) / step
        c, d = (right[1] - at[1]) / step, (below[1] - at[1]) / step
        off_u, off_v, whole = at[0] - u, at[1] - v, a * d - b * c
        x, y = x - (d * off_u - b * off_v) / whole, y - (a * off_v - c * off_u) / whole
    assert max(np.abs(at[0] - u).max(), np.abs(at[1] - v).max()) < 1e-6
    return x, y


class Plane:
    """A plane in front of the camera, with smooth waves on it; their slope is known as well."""

    def __init__(self, shortest: float = 0.08) -> None:
        rng = np.random.default_rng(0)
        length, angle = rng.uniform(shortest, 4 * shortest, 12), rng.uniform(0, 2 * np.pi, 12)
        self.k = 2 * np.pi / length * np.array([np.cos(angle), np.sin(angle)])
        self.phase = rng.uniform(0, 2 * np.pi, 12)

    def grey(self, x: Floats, y: Floats) -> Floats:
        return 127.5 + 10.0 * np.sum(np.cos(self._angles(x, y)), axis=-1)

    def slope(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        rate = -10.0 * np.sin(self._angles(x, y))
        return np.sum(rate * self.k[0], axis=-1), np.sum(rate * self.k[1], axis=-1)

    def photo(self, camera: Camera) -> NDArray[np.uint8]:
        grey = np.rint(np.clip(self.grey(*rays(camera)), 0, 255)).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)

    def off_px(self, pixels: NDArray[np.uint8], camera: Camera, *, block_px: int = 32) -> float:
        """By how far a straight picture is off at worst: the shift of each block, by its slope."""
        x, y = rays(camera)
        left = pixels[..., 0] - self.grey(x, y)
        slope = self.slope(x, y)
        across, down = slope[0] / camera.fx_px, slope[1] / camera.fy_px
        worst = 0.0
        for row in range(0, camera.height_px - block_px + 1, block_px):
            for column in range(0, camera.width_px - block_px + 1, block_px):
                part = np.s_[row : row + block_px, column : column + block_px]
                steep = np.column_stack([across[part].ravel(), down[part].ravel()])
                shift = np.linalg.lstsq(steep, left[part].ravel(), rcond=None)[0]
                worst = max(worst, float(np.hypot(*shift)))
        return worst

    def _angles(self, x: Floats, y: Floats) -> Floats:
        return x[..., None] * self.k[0] + y[..., None] * self.k[1] + self.phase
