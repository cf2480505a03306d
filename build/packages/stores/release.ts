import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'

/** An https:// address without characters that have a special meaning in the written files. */
const Address = z.url({ protocol: /^https$/ }).max(1000)

/** A published version, as the lists of public package managers describe it. */
export interface Release {
  readonly version: string
  /** Folder of the files on the web, with `/` at its end. */
  readonly folder: string
  readonly homepage: string
  readonly files: readonly ReleaseFile[]
}

export interface ReleaseFile {
  readonly kind: 'dmg' | 'exe'
  readonly arch: 'x64' | 'arm64'
  readonly url: string
  /** Hexadecimal. */
  readonly sha256: string
}

/**
 * Reads the installers of a version; other files are skipped.
 *
 * @param names of electron-builder: `artifactName` in `desktop/builder-config.ts`
 * @throws Error if an address is not https, an installer is of another version, or there are two of a kind
 */
export async function readRelease(
  about: { readonly version: string; readonly url: string; readonly homepage: string },
  paths: readonly string[],
): Promise<Release> {
  const { version } = about
  const folder = Address.parse(about.url).replace(/\/*$/, '/')
  const files: ReleaseFile[] = []
  for (const path of paths) {
    const name = basename(path)
    const [, found, arch, kind] = /^berth-desktop-(.+)-(?:mac|win)-(x64|arm64)\.(dmg|exe)$/.exec(name) ?? []
    if (kind === undefined) continue
    if (found !== version) throw new Error(`${name} is not of version ${version}`)
    const hash = createHash('sha256')
    await pipeline(createReadStream(path), hash)
    const url = new URL(name, folder).href
    const file = { kind, arch, url, sha256: hash.digest('hex') } as ReleaseFile
    if (files.some(other => other.kind === kind && other.arch === arch)) throw new Error(`${name} is there twice`)
    files.push(file)
  }
  files.sort((a, b) => (a.url < b.url ? -1 : 1))
  return { version, folder, homepage: Address.parse(about.homepage), files }
}
