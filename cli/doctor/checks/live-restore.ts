import { type Check, ok, warning } from '../check.ts'

export const liveRestore: Check = {
  name: 'live-restore',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.liveRestore) return ok('Sessions survive a restart of the engine.')
    return warning(
      'Off: sessions end when the engine restarts, for instance at its next update.',
      'Add "live-restore": true to /etc/docker/daemon.json, then `systemctl reload docker`.',
    )
  },
}
