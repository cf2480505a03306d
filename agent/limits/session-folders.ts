import { plainField } from '#base/mount-info'
import { SESSION_HOME } from '#manager/contract'
import { LATER_FOLDERS } from '../docker/container-config.ts'

interface PlacedTree {
  /** Number of the file system, as in `254:0`; the same for all subvolumes of a btrfs. */
  readonly device: string
  /** Path in that file system of what is mounted. */
  readonly root: string
  readonly at: string
  readonly isWritable: boolean
}

/**
 * Directories of this host with the folders that a session can write to and that are on the file system of its home. Only the kernel is
 * asked: a path in a container may lead anywhere, and a share whose server is gone does not answer.
 *
 * @param inside /proc/PID/mountinfo of the container @param own the same of this process, see proc_pid_mountinfo(5)
 */
export function foldersBesideHome(inside: string, own: string): string[] {
  const mounts = readTrees(inside)
  const home = mounts.findLast(({ at }) => at === SESSION_HOME)
  if (!home) return []
  const roots = mounts
    .filter(({ at, device, isWritable }) => isWritable && device === home.device && isFolder(at))
    .map(({ root }) => root)
    // Volumes of the image in the home are directories of the home.
    .filter((root, index, all) => !isIn(root, home.root) && all.indexOf(root) === index)
  const here = readTrees(own).filter(({ device }) => device === home.device)
  return roots
    .filter(root => !roots.some(other => other !== root && isIn(root, other)))
    .flatMap(root => pathOf(root, here) ?? [])
}

const isFolder = (at: string) => isBelow(at, SESSION_HOME) || isBelow(at, LATER_FOLDERS)
const isBelow = (path: string, top: string) => path.startsWith(top === '/' ? top : `${top}/`)
const isIn = (path: string, top: string) => path === top || isBelow(path, top)

/** @param here mounts of this process of the same file system */
function pathOf(root: string, here: readonly PlacedTree[]): string | undefined {
  // The mount that shows most of the file system lasts longest.
  const [widest] = here.filter(mount => isIn(root, mount.root)).toSorted((a, b) => a.root.length - b.root.length)
  if (!widest) return undefined
  const rest = root.slice(widest.root === '/' ? 0 : widest.root.length)
  return `${widest.at === '/' ? '' : widest.at}${rest}` || '/'
}

function readTrees(mountinfo: string): PlacedTree[] {
  return mountinfo.split('\n').flatMap(line => {
    const [, , device, root, at, options] = line.split(' ')
    if (device === undefined || root === undefined || at === undefined || options === undefined) return []
    return [{ device, root: plainField(root), at: plainField(at), isWritable: options.split(',').includes('rw') }]
  })
}
