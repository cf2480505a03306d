import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** Servers say that a new version is there, and never install it by themselves. */
export const updates: PartCheck = {
  name: 'version',
  nameBy: 'check_version',
  of: ['manager'],
  run({ update }) {
    switch (update.status) {
      case 'off':
        return ok(because('updates_off', { version: update.version }))
      case 'newest':
        return ok(because('updates_newest', { version: update.version }))
      case 'newer':
        return warning(
          because('updates_newer', { version: update.version, newer: update.newer }),
          because('updates_newer_mend'),
        )
      case 'unknown':
        return warning(
          because('updates_unknown', { version: update.version, text: update.why }),
          because('updates_unknown_mend'),
        )
    }
  },
}
