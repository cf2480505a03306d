import { join } from 'node:path'
import { runCommand } from '../../bootstrap/command.ts'
import { ROOT } from '../../bootstrap/image-recipes.ts'
import { findProgram } from '../../bootstrap/platform.ts'
import { MANIFEST } from '../manifest.ts'
import { type Target, TargetUnavailable } from '../target.ts'
import { normalizeTree } from '../tree.ts'
import { addLauncher } from './server-tree.ts'

/** An image of manager and console, for `docker load`. Docker writes the time of the build into it, so two builds differ. */
export const imageTarget: Target = {
  name: 'image',
  about: 'image of manager and console, for docker load',
  async make({ runtime, stageDir, outDir, seconds }) {
    if (findProgram('docker') === undefined) throw new TargetUnavailable('the command docker is missing')
    const base = await runCommand('docker', ['image', 'ls', '-q', 'debian:trixie-slim']).catch(() => '')
    if (base === '')
      throw new TargetUnavailable('the engine has no debian:trixie-slim (docker pull, or npm start, which makes it)')
    const context = join(stageDir, 'image')
    addLauncher(await runtime(), context)
    normalizeTree(context, seconds)
    const tag = `berth/server:${MANIFEST.version}`
    const file = join(outDir, `berth-server-${MANIFEST.version}-${process.arch}.docker.tar`)
    const recipe = join(ROOT, 'build', 'packages', 'image', 'Dockerfile')
    await runCommand('docker', [
      'build',
      '-q',
      '--force-rm',
      '--label',
      'berth.package=server',
      '-t',
      tag,
      '-f',
      recipe,
      context,
    ])
    try {
      await runCommand('docker', ['save', '-o', file, tag])
    } finally {
      await runCommand('docker', ['image', 'rm', tag])
    }
    return [file]
  },
}
