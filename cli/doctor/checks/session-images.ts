import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

export const sessionImages: PartCheck = {
  name: 'session images',
  nameBy: 'check_session_images',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    if (engine.sessionImages > 0) return ok(because('session_images_there', { count: engine.sessionImages }))
    return warning(because('session_images_none'), because('session_images_none_mend'))
  },
}
