/**
 * Programs for files of a session, run in it as its user by the toolbox's bash, with arguments as words: what a path leads to, and who may
 * read it, is decided where every program of the session decides it. The first argument is the path in base64, because names may hold any
 * byte but NUL.
 */

const SHELL = ['/opt/berth/bin/bash', '--norc', '--noprofile', '-c'] as const

/** Exit codes of the scripts. */
export const FILE_EXIT = { missing: 64, kind: 65, refused: 66, changed: 67, full: 68, exists: 69, cut: 70 } as const

const BEGIN = `
b=/opt/berth/bin/busybox LC_ALL=C TZ=UTC
export LC_ALL TZ
path=$($b base64 -d <<<"$1"; printf x)
path=\${path%x}
case $path in /*) ;; *) path=./$path ;; esac
stateOf() { $b stat -L -c '%i %s %y' "$1"; }
openFile() {
  [ -e "$path" ] || exit ${FILE_EXIT.missing}
  [ -f "$path" ] || exit ${FILE_EXIT.kind}
  exec 3<"$path" || exit ${FILE_EXIT.refused}
  state=$(stateOf /proc/self/fd/3)
}
exec 2>/dev/null
`

/** Arguments: path, name to begin after in base64, most entries. Writes for each: its name, NUL, its state, NUL. */
const LIST = `${BEGIN}
[ -e "$path" ] || exit ${FILE_EXIT.missing}
[ -d "$path" ] || exit ${FILE_EXIT.kind}
cd "$path" && [ -r . ] || exit ${FILE_EXIT.refused}
after=$($b base64 -d <<<"$2"; printf x)
after=\${after%x}
shopt -s nullglob dotglob
count=0
for name in *; do
  [[ -z $after || $name > $after ]] || continue
  ((count++ < $3)) || break
  printf '%s\\0%s\\0' "$name" "$($b stat -c '%f %a %i %s %y' "./$name")"
done
`

/** Arguments: path. Writes the state of a file. */
const STATE = `${BEGIN}
openFile
printf '%s' "$state"
`

/** Arguments: path, first byte, number of bytes, state that the file must have. Writes the bytes. */
const READ = `${BEGIN}
openFile
[ "$state" = "$4" ] || exit ${FILE_EXIT.changed}
exec $b dd bs=262144 iflag=skip_bytes,count_bytes skip="$2" count="$3" <&3
`

const BESIDE = `${BEGIN}
[ -L "$path" ] && path=$($b readlink -f "$path"; printf x) && path=\${path%?x}
directory=\${path%/*}
[ -d "$directory/" ] || exit ${FILE_EXIT.missing}
`

/** A draft that has not grown for so long has lost its writer: an upload that stalls is given up much earlier. */
const LEFT_MINUTES = 60

/**
 * Arguments: path, name of the draft, state that the file must have or nothing for a new file, number of bytes that come. Reads the content,
 * and writes the new state. The content goes to a draft beside the file, which takes its place as a whole. Drafts that scripts have left
 * there, because they were killed, are removed.
 */
const WRITE = `${BESIDE}
[ -n "\${path##*/}" ] && [ ! -d "$path" ] || exit ${FILE_EXIT.kind}
$b find "$directory/" -maxdepth 1 -type f -user "$UID" -name '.berth-put-*' -mmin +${LEFT_MINUTES} -exec $b rm -f {} +
draft=$directory/$2
trap '$b rm -f "$draft"' EXIT
( set -C; : >"$draft" ) || exit ${FILE_EXIT.refused}
$b cat >"$draft" || exit ${FILE_EXIT.full}
[ "$($b stat -c %s "$draft")" = "$4" ] || exit ${FILE_EXIT.cut}
if [ -z "$3" ]; then
  $b ln "$draft" "$path" || { [ -e "$path" ] && exit ${FILE_EXIT.exists}; exit ${FILE_EXIT.refused}; }
else
  [ -f "$path" ] || exit ${FILE_EXIT.changed}
  [ "$(stateOf "$path")" = "$3" ] || exit ${FILE_EXIT.changed}
  $b chmod "$($b stat -c %a "$path")" "$draft"
  $b mv -f "$draft" "$path" || exit ${FILE_EXIT.refused}
fi
stateOf "$path"
`

/** Arguments: path, name of the draft. */
const REMOVE_DRAFT = `${BESIDE}
$b rm -f "$directory/$2"
`

const words = (script: string, args: readonly string[]) => [...SHELL, script, 'berth-files', ...args]

/** @param path, after bytes of names, in base64 */
export const listScript = (path: string, after: string, most: number) => words(LIST, [path, after, String(most)])
export const stateScript = (path: string) => words(STATE, [path])
export const readScript = (path: string, { start, end, state }: { start: number; end: number; state: string }) =>
  words(READ, [path, String(start), String(end - start), state])
/** @param state of the file to replace; undefined: a new one @param bytes that come */
export const writeScript = (path: string, draft: string, state: string | undefined, bytes: number) =>
  words(WRITE, [path, draft, state ?? '', String(bytes)])
export const removeDraftScript = (path: string, draft: string) => words(REMOVE_DRAFT, [path, draft])
/** @param name in letters and digits */
export const draftName = (name: string) => `.berth-put-${name}`
