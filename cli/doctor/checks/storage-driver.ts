import { type Check, ok, warning } from '../check.ts'

const FINE: ReadonlySet<string> = new Set(['overlay2', 'overlayfs', 'btrfs', 'zfs', 'stargz', 'windowsfilter'])

export const storageDriver: Check = {
  name: 'storage driver',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (FINE.has(engine.storageDriver)) return ok(`${engine.storageDriver}.`)
    return warning(
      `${engine.storageDriver} copies whole layers: sessions start slowly and fill the disk.`,
      'Keep the Docker root on ext4 or xfs and set "storage-driver": "overlay2" in /etc/docker/daemon.json (then pull the images again).',
    )
  },
}
