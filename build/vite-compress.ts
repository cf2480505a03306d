import { readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { type Plugin } from 'vite'

const TEXT = new Set(['.css', '.html', '.js', '.json', '.map', '.svg', '.txt', '.webmanifest'])
/** Minimum size in bytes: below it a compressed answer is hardly shorter than its head. */
const SMALLEST_BYTES = 1024

/**
 * Writes a `.br` and a `.gz` copy beside every text file of the build, with maximum compression: the server sends the copies
 * unchanged (`proxy/web/static-files.ts`). The files themselves stay for the desktop app and for browsers that accept neither.
 */
export function compressedCopies(): Plugin {
  return {
    name: 'berth-compressed-copies',
    apply: 'build',
    async writeBundle({ dir = '.' }, bundle) {
      const names = Object.keys(bundle).filter(name => TEXT.has(extname(name)))
      await Promise.all(names.map(name => compress(join(dir, name))))
    },
  }
}

async function compress(path: string): Promise<void> {
  const bytes = await readFile(path)
  if (bytes.length < SMALLEST_BYTES) return
  const brotli = {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  }
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, brotli))
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }))
}
