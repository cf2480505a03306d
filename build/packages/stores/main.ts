import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { defined } from '#base/defined'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { MANIFEST } from '../manifest.ts'
import { homebrewCask } from './homebrew.ts'
import { readRelease } from './release.ts'
import { wingetManifests, wingetYaml } from './winget.ts'

/**
 * Writes the descriptions of a version for Homebrew and winget to dist/packages/stores, for the person who publishes it:
 *
 *     npm run store-files -- --url https://HOST/FOLDER/ --homepage https://HOST/ dist/packages/*.dmg dist/packages/*.exe
 *
 * The files at that address must be identical to the local files, from which the hashes are taken. It prints the names of the written
 * files.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { url: { type: 'string' }, homepage: { type: 'string' } },
})
const { url, homepage } = values
if (url === undefined || homepage === undefined) throw new Error('--url and --homepage are needed')
const release = await readRelease({ version: MANIFEST.version, url, homepage }, positionals)
const cask = homebrewCask(release)
const files = {
  ...defined({ 'berth.rb': cask }),
  ...Object.fromEntries(wingetManifests(release).map(manifest => [manifest.fileName, wingetYaml(manifest)])),
}
if (Object.keys(files).length === 0) throw new Error('none of the files is an installer for macOS or Windows')
const folder = join(ROOT, 'dist', 'packages', 'stores')
mkdirSync(folder, { recursive: true })
for (const [name, text] of Object.entries(files)) {
  writeFileSync(join(folder, name), text)
  process.stdout.write(`${join(folder, name)}\n`)
}
