import { type Check, ok, warning } from '../check.ts'

/** Servers say that a new version is there, and never install it by themselves. */
export const updates: Check = {
  name: 'version',
  of: ['manager'],
  run({ update }) {
    switch (update.status) {
      case 'off':
        return ok(`${update.version}. Updates are not looked for: this Berth names no list of them.`)
      case 'newest':
        return ok(`${update.version}, the newest.`)
      case 'newer':
        return warning(
          `${update.version}. Version ${update.newer} is there.`,
          'Read its changes, then install its package; running sessions stay.',
        )
      case 'unknown':
        return warning(
          `${update.version}. ${update.why}`,
          'Check the connection of this computer to the list of updates.',
        )
    }
  },
}
