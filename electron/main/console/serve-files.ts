import { readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

/**
 * Reads files of the built page, and no other file of this computer. The path is decoded once and refused if it has a component
 * that could climb or hide (`..`, `\`, NUL). Its target, with links resolved, must lie below the root.
 *
 * @returns undefined if there is no such file, for whatever reason: an attacker who probes learns nothing
 */
export async function readConsoleFile(root: string, pathname: string) {
  const relative = decode(pathname === '/' ? '/index.html' : pathname)
  if (relative === undefined || /[\\\0]/.test(relative)) return undefined
  if (relative.split('/').some(part => part === '..' || part === '.')) return undefined
  try {
    const top = await realpath(root)
    const file = await realpath(path.join(top, relative))
    if (!file.startsWith(top + path.sep)) return undefined
    if (!(await stat(file)).isFile()) return undefined
    const type = TYPES[path.extname(file)] ?? 'application/octet-stream'
    return { type, body: await readFile(file) }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function decode(pathname: string): string | undefined {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return undefined
  }
}

function isMissing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'EACCES' || code === 'ENAMETOOLONG'
}
