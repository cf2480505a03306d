import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'

/** The oldest Node that runs Berth: TypeScript without a build step, `await using`. */
const OLDEST = 24

/**
 * The Node that runs Berth: the one pinned among the npm packages, else (no such package on macOS) this process's own or one in
 * PATH, if new enough.
 *
 * @param {string} root the clone, or the folder of the package
 * @returns {string | undefined} path of the executable
 */
export function findNode(root) {
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const pinned = packageFolders(root)
    .map(folder =>
      process.platform === 'win32' ? join(folder, `node-win-${process.arch}`, 'bin', name) : join(folder, '.bin', name),
    )
    .find(candidate => existsSync(candidate))
  if (pinned !== undefined) return pinned
  if (Number(process.versions.node.split('.')[0]) >= OLDEST) return process.execPath
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter(Boolean)
    .map(folder => join(folder, name))
    .find(candidate => existsSync(candidate) && majorOf(candidate) >= OLDEST)
}

/** The package's own `node_modules`, and the one that contains the package itself: `npx` puts dependencies beside it. */
function packageFolders(root) {
  const above = dirname(root)
  return [join(root, 'node_modules'), ...(basename(above) === 'node_modules' ? [above] : [])]
}

function majorOf(node) {
  const { stdout } = spawnSync(node, ['-p', 'process.versions.node.split(".")[0]'], { encoding: 'utf8' })
  return Number(stdout)
}
