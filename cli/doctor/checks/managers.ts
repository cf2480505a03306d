import { MANAGER_WARNINGS, type ManagerWarningCode } from '#manager/contract'
import { type Check, ok, warning } from '../check.ts'

export const managers: Check = {
  name: 'managers',
  of: ['manager'],
  run({ managerWarnings }) {
    if (managerWarnings === undefined) return undefined
    if (managerWarnings.length === 0) return ok('The managers on this database have no problems.')
    return warning(
      managerWarnings.map(textOf).join(' '),
      '`berth admin manager ls` shows which managers, and what to do.',
    )
  },
}

function textOf(code: string): string {
  return Object.hasOwn(MANAGER_WARNINGS, code) ? MANAGER_WARNINGS[code as ManagerWarningCode] : `${code}.`
}
