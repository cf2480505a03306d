import { join } from 'node:path'
import { MANIFEST } from '../manifest.ts'
import { type Target } from '../target.ts'
import { writeTarGz } from '../tar-folder.ts'

/** The npm package: `npx ./berth-VERSION.tgz up` without a clone. npm fetches its dependencies, the pinned Node among them. */
export const npmTarget: Target = {
  name: 'npm',
  about: 'npm tarball; npx ./berth-VERSION.tgz up',
  async make({ program, outDir, seconds }) {
    const file = join(outDir, `berth-${MANIFEST.version}.tgz`)
    await writeTarGz(await program(), file, { prefix: 'package', seconds })
    return [file]
  },
}
