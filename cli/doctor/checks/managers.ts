import { type Because, because, MANAGER_WARNINGS, type ManagerWarningCode, together } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

export const managers: PartCheck = {
  name: 'managers',
  nameBy: 'check_managers',
  of: ['manager'],
  run({ managerWarnings }) {
    if (managerWarnings === undefined) return undefined
    const [first, ...rest] = managerWarnings.map(textOf)
    if (first === undefined) return ok(because('managers_well'))
    return warning(together(first, ...rest), because('managers_mend'))
  },
}

function textOf(code: string): Because {
  return Object.hasOwn(MANAGER_WARNINGS, code)
    ? because(code as ManagerWarningCode)
    : because('manager_warning_unknown', { code })
}
