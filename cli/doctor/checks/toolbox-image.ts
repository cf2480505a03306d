import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

export const toolboxImage: PartCheck = {
  name: 'toolbox image',
  nameBy: 'check_toolbox_image',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable') return undefined
    const { image, present } = engine.toolbox
    if (present) return ok(because('toolbox_there', { image }))
    return problem(because('toolbox_gone', { image }), because('toolbox_gone_mend'))
  },
}
