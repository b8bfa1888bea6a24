#!/bin/bash
# Trains a convolutional network on Fashion-MNIST (Debian: dataset-fashion-mnist), measures the exported model afresh, runs it
# on a few test images, and says what to try next. `make quickstart` installs and builds first.
#
#     tools/quickstart.sh [OPTION...]     options go to `halka train`, such as --threads 2 or --set epochs=8
#
# HALKA names another command than build/release/halka.
set -euo pipefail
cd "$(dirname "$0")/.."

halka=${HALKA:-build/release/halka}
run_file=quickstart/fashion.json
data=/usr/share/datasets/fashion-mnist
classes=("T-shirt/top" Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag "Ankle boot")

if [ ! -x "$halka" ]; then
    echo "quickstart: $halka is not there; \`make quickstart\` builds it" >&2
    exit 1
fi
if [ ! -r "$data/train-images-idx3-ubyte.gz" ]; then
    echo "quickstart: $data is not there; please install Debian's package dataset-fashion-mnist" >&2
    exit 1
fi

# An older run is never overwritten: the first name that is free.
name=fashion
for ((i = 2; ; i++)); do
    [ -e "runs/$name" ] || break
    name=fashion-$i
done
folder=runs/$name

heading() {
    printf '\n\033[1m%s\033[0m\n' "$1"
}
[ -t 1 ] || heading() { printf '\n%s\n' "$1"; }

heading "1. Train on 57,000 images ($run_file)"
"$halka" train "$run_file" --set "name=$name" "$@"
if [ ! -f "$folder/model.onnx" ]; then
    printf '\nStopped before there was a model. Go on with:\n    %s train %s --set name=%s --resume\n' "$halka" "$run_file" "$name"
    exit 0
fi

heading "2. Measure the exported model on the 10,000 test images ($folder/model.onnx)"
"$halka" eval "$folder/model.onnx" --data "$run_file"

heading "3. Run it on a few of them: raw bytes in, as the data set stores them"
label_of() { # the label of test image $1: one byte each after a header of eight
    gzip -dc "$data/t10k-labels-idx1-ubyte.gz" | od -An -v -tu1 -w1 -j $((8 + $1)) -N 1 | tr -d ' '
}
for image in 0 7 12 23; do
    echo "test image $image is: ${classes[$(label_of $image)]}; the model says:"
    "$halka" run "$folder/model.onnx" -i "$data/t10k-images-idx3-ubyte.gz:$image" --top 3 | sed '1,/^probabilities/d; /row 0:/d'
done

heading "What to try next"
cat <<END
  the report, in a browser:        $PWD/$folder/report.html
  what the model is made of:       $halka inspect $folder/model.onnx
  the same weights on any machine: $halka info --digest $folder/model.onnx
  train longer:                    $halka train $run_file --set epochs=12 --set name=longer
  another network:                 $halka train $run_file --set model=resnet20 --set name=resnet20
  your own data:                   copy $run_file and change "data" (docs/run-file.md: IDX, CSV, npy, folders of pictures)
END
