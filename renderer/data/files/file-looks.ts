import { type EntryKind } from './files-client.ts'

/** Groups of files that share an icon and a preview. */
export type FileLooks =
  | 'directory'
  | 'link'
  | 'other'
  | 'notebook'
  | 'code'
  | 'text'
  | 'table'
  | 'image'
  | 'pdf'
  | 'audio'
  | 'video'
  | 'archive'
  | 'file'

const EXTENSIONS: Readonly<Record<Exclude<FileLooks, 'directory' | 'link' | 'other' | 'file'>, string>> = {
  notebook: 'ipynb',
  code: 'py js ts jsx tsx mjs cjs vue c h cc cpp hpp cu cuh rs go java kt scala r jl m sh bash zsh fish pl rb php lua sql html htm css scss json jsonl ndjson yaml yml toml ini cfg conf xml svg proto dockerfile makefile cmake diff patch tex bib ps1 swift',
  text: 'txt md markdown rst log out err env gitignore lock',
  table: 'csv tsv',
  image: 'png jpg jpeg gif webp avif bmp ico',
  pdf: 'pdf',
  audio: 'mp3 wav ogg oga flac m4a aac opus',
  video: 'mp4 webm m4v mov ogv',
  archive: 'zip tar gz tgz bz2 xz zst 7z rar whl jar',
}
const LOOKS = new Map(
  Object.entries(EXTENSIONS).flatMap(([looks, extensions]) =>
    extensions.split(' ').map(extension => [extension, looks as FileLooks] as const),
  ),
)

/** Lower-case extension without the dot; the whole name of files such as `Makefile`. */
export function extensionOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1).toLowerCase()
}

/** Chooses by name and kind only: a list has hundreds of files, whose content is not known. */
export function looksOf(name: string, kind: EntryKind): FileLooks {
  if (kind !== 'file') return kind
  return LOOKS.get(extensionOf(name)) ?? 'file'
}
