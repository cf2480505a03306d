import { MANAGER_WARNINGS, type ManagerWarningCode } from '#manager/contract'
import { type Check, ok, warning } from '../check.ts'

export const managers: Check = {
  name: 'managers',
  run({ managerWarnings }) {
    if (managerWarnings === undefined) return undefined
    if (managerWarnings.length === 0) return ok('Nothing is wrong with those on this database.')
    return warning(
      managerWarnings.map(textOf).join(' '),
      '`berth admin manager ls` says which managers, and what to do.',
    )
  },
}

function textOf(code: string): string {
  return Object.hasOwn(MANAGER_WARNINGS, code) ? MANAGER_WARNINGS[code as ManagerWarningCode] : `${code}.`
}
