import { extensionOf, looksOf } from '../../../data/files/file-looks.ts'

export type PreviewKind = 'text' | 'image' | 'pdf' | 'table' | 'markdown' | 'notebook' | 'audio' | 'video' | 'none'

/** Chooses by name; a file of an unknown kind is shown as text unless it has binary bytes. */
export function previewKind(name: string): PreviewKind {
  const extension = extensionOf(name)
  const looks = looksOf(name, 'file')
  if (extension === 'md' || extension === 'markdown') return 'markdown'
  // SVG is shown as an image: scripts in it do not run there.
  if (looks === 'image' || extension === 'svg') return 'image'
  if (looks === 'table' || looks === 'notebook' || looks === 'pdf' || looks === 'audio' || looks === 'video')
    return looks
  return looks === 'archive' ? 'none' : 'text'
}

/** Largest number of bytes that a preview reads: text and tables show their beginning, other kinds need the whole file. */
export function mostBytes(kind: PreviewKind): number {
  if (kind === 'text' || kind === 'markdown') return MIB
  if (kind === 'table') return 8 * MIB
  if (kind === 'notebook') return 32 * MIB
  return 128 * MIB
}
const MIB = 1024 * 1024

/** Largest text that can be edited; the manager writes no larger one (`PUT content`). */
export const MOST_EDITED_BYTES = MIB

/** Media types that are shown. The type is ours and never text/html, whatever the file contains. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  opus: 'audio/ogg',
  mp4: 'video/mp4',
  webm: 'video/webm',
  m4v: 'video/mp4',
  mov: 'video/quicktime',
  ogv: 'video/ogg',
}
export const mediaType = (name: string): string => TYPES[extensionOf(name)] ?? 'application/octet-stream'
