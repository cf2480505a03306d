import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ROOT } from '../bootstrap/image-recipes.ts'
import { compileServers } from './compile.ts'
import { packageManifest, shrinkwrap } from './manifest.ts'

/** Folders and files that are copied unchanged into a package. */
const COPIED = [
  'LICENSE',
  'bin/berth',
  'build/bootstrap/compile-cache.mjs',
  'build/bootstrap/find-node.mjs',
  'build/bootstrap/follow-parent.mjs',
  'build/host/add-host.sh',
  'build/images',
  'build/toolbox',
  'dist/renderer',
  'docs/admin/systemd/berth-agent.service',
]

/**
 * Writes Berth's own files in the form of a package: compiled servers and command line, the built console, the recipes of images. The tree
 * has the structure of a clone, so that the same program finds its parts in both.
 */
export async function stageProgram(folder: string): Promise<void> {
  await compileServers(folder)
  for (const path of COPIED) cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: isShipped })
  mkdirSync(folder, { recursive: true })
  const json = (value: unknown) => `${JSON.stringify(value, undefined, 2)}\n`
  writeFileSync(join(folder, 'package.json'), json(packageManifest()))
  writeFileSync(join(folder, 'npm-shrinkwrap.json'), json(shrinkwrap()))
}

/** Leaves out documents of the sources and records of the build, and recipes of images that only tests need. */
function isShipped(path: string): boolean {
  const name = basename(path)
  return !name.startsWith('.') && !name.endsWith('.md') && !/build\/images\/(tiny|busybox)$/.test(path)
}
