#!/usr/bin/env bash
# The wheel, in an environment that has only what the wheel needs (no torch, no training libraries): it is built,
# built again from the source distribution and compared, and installed from a folder without an index. Then, with
# the installation read-only and, where this runs as root, as an ordinary user without a home: one photo is located
# with a bundle that was built elsewhere; a bundle is built from a map there and the photo located with that; and
# the README's first block of nadirfix commands is run, its photo evaluated, and served.
# usage: tests/core_install.sh BUNDLE PHOTO MAP README [PYTHON]     answers go to standard output
set -euo pipefail
bundle=$(realpath "$1")
photo=$(realpath "$2")
map=$(realpath "$3")
readme=$(realpath "$4")
python=${5:-python3}
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
pip=(-m pip --disable-pip-version-check --quiet)

"$python" -m venv "$scratch/builder"
"$scratch/builder/bin/python" "${pip[@]}" install 'hatchling>=1.27' >&2
"$scratch/builder/bin/python" -m hatchling build -d "$scratch/dist" >&2
wheel=$(echo "$scratch"/dist/*.whl)
"$scratch/builder/bin/python" "${pip[@]}" wheel --no-deps --no-build-isolation -w "$scratch/again" "$scratch"/dist/*.tar.gz >&2
contents() { "$python" -c "
import hashlib, sys, zipfile
for name in sorted((wheel := zipfile.ZipFile(sys.argv[1])).namelist()):
    print(name, hashlib.sha256(wheel.read(name)).hexdigest())" "$1"; }
diff <(contents "$wheel") <(contents "$scratch"/again/*.whl) >&2
contents "$wheel" | cut -d' ' -f1 >"$scratch/names"
for part in nadirfix/py.typed weights/standard-matcher.onnx weights/standard-altitude.onnx licenses/LICENSE licenses/NOTICE; do
  grep -q "$part" "$scratch/names" || { echo "the wheel has no $part" >&2; exit 1; }
done
if [ -f src/nadirfix/serve/page/index.html ]; then grep -q serve/page/index.html "$scratch/names"; fi
bytes=$(stat -c %s "$wheel")
echo "the wheel has $((bytes / 1000000)) MB" >&2
[ "$bytes" -le 60000000 ]

"$scratch/builder/bin/python" "${pip[@]}" wheel -c constraints.txt -w "$scratch/house" "$wheel" >&2
"$python" -m venv "$scratch/venv"
"$scratch/venv/bin/python" "${pip[@]}" install --no-index --find-links "$scratch/house" nadirfix >&2
for library in torch pyarrow pandas scipy sklearn matplotlib faiss; do
  if "$scratch/venv/bin/python" -c "import $library" 2>/dev/null; then
    echo "$library is there: this is not the core install" >&2
    exit 1
  fi
done
chmod -R a-w,a+rX "$scratch/venv"

mkdir "$scratch/tried"
cp -r "$bundle" "$scratch/tried/elsewhere.nadir"
cp "$photo" "$scratch/tried/photo.${photo##*.}"
cp "$map" "$scratch/tried/map.${map##*.}"
# The first block that calls nadirfix, as it stands.
awk '/^```bash/ {block = ""; inside = 1; next} /^```/ {if (inside && block ~ /(^|\n)nadirfix /) {print block; exit} inside = 0}
     inside {block = block $0 "\n"}' "$readme" >"$scratch/tried/readme.sh"
cat >"$scratch/tried/all.sh" <<'COMMANDS'
set -euo pipefail
nadirfix locate photo.* --bundle elsewhere.nadir --quiet
printf 'base = "tiny"\nmatcher = "none"\n' >none.toml
nadirfix build map.* --out here.nadir --recipe none.toml --quiet >&2
nadirfix locate photo.* --bundle here.nadir --quiet
# The default, of fewer views than a pilot's: what is tried here is that nothing but the core is needed.
printf '[fit]\nviews = 200\n[quantise]\nviews = 16\n' >few.toml
nadirfix build map.* --out standard.nadir --recipe few.toml --quiet >&2
nadirfix locate photo.* --bundle standard.nadir --quiet
mkdir readme && cd readme && bash -euo pipefail ../readme.sh | tail -n 1
nadirfix evaluate photos/manifest.csv --bundle my-map.nadir --out evaluated --quiet >&2
test -s evaluated/report.html
python ../service.py
COMMANDS
cat >"$scratch/tried/service.py" <<'PYTHON'
"""The service in this environment: its page, where the wheel has one, and its line for the photo."""
import socket, subprocess, time, urllib.request
from importlib.resources import files

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
url = f"http://127.0.0.1:{port}"
command = ["nadirfix", "serve", "--bundle", "my-map.nadir", "--port", str(port), "--no-measure", "--quiet"]
service = subprocess.Popen(command)
try:
    while True:
        assert service.poll() is None, "the service has ended"
        try:
            urllib.request.urlopen(f"{url}/readyz").close()
            break
        except OSError:
            time.sleep(0.2)
    if files("nadirfix").joinpath("serve/page/index.html").is_file():
        assert b"<html" in urllib.request.urlopen(url).read(), "the page"
    photo = open("my-photo.jpg", "rb").read()
    request = urllib.request.Request(f"{url}/v1/locate?name=my-photo.jpg", photo, {"Content-Type": "image/jpeg"})
    print(urllib.request.urlopen(request).read().decode().strip())
finally:
    service.terminate()
assert service.wait(60) == 0, "ended by SIGTERM"
PYTHON
user=()
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" != 0 ]; then
  echo "as an ordinary user" >&2
elif "${nobody[@]}" bash -c '"$1" -c ""' bash "$scratch/venv/bin/python" 2>/dev/null; then
  chown -R 65534:65534 "$scratch/tried"
  user=("${nobody[@]}")
else
  echo "not as an ordinary user: this Python is closed to others" >&2
fi
cd "$scratch/tried"
env -i PATH="$scratch/venv/bin:/usr/bin:/bin" HOME=/nonexistent TMPDIR="$scratch/tried" "${user[@]}" bash all.sh
