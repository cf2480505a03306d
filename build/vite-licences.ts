import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Plugin } from 'vite'
import { ROOT } from './bootstrap/image-recipes.ts'
import { licencesOf } from './licences.ts'

const FILE = /[\\/]system[\\/]licences[\\/](packages|texts)\.ts$/
const PLACE = /(["'`])__BERTH_LICENCES_(packages|texts)_\w+__\1/g

/**
 * Puts the packages of others and their licences into the page (`renderer/features/admin/system/licences`). The page's packages are known
 * only after bundling, so until then the modules hold a placeholder. It contains the digest of the lock file, so that the name of the built
 * file changes with its later content.
 */
export function licencesInPage(): Plugin {
  const lock = createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .digest('hex')
  return {
    name: 'berth:licences',
    apply: 'build',
    enforce: 'pre',
    load(id) {
      const part = FILE.exec(id)?.[1]
      return part && `export const ${part.toUpperCase()} = '__BERTH_LICENCES_${part}_${lock}__'`
    },
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter(item => item.type === 'chunk')
      const licences = licencesOf(chunks.flatMap(({ moduleIds }) => moduleIds))
      for (const chunk of chunks) {
        chunk.code = chunk.code.replace(PLACE, (_mark, _quote, part: keyof typeof licences) =>
          JSON.stringify(licences[part]),
        )
      }
    },
  }
}
