import { type FormRow } from './admin-forms.ts'
import { MACHINE_FORMS } from './admin-forms-machines.ts'
import { LIMIT_FORMS } from './admin-forms-limits.ts'
import { PEOPLE_FORMS } from './admin-forms-people.ts'
import { SYSTEM_FORMS } from './admin-forms-system.ts'

/** All forms of administration. */
export const ADMIN_FORMS: readonly FormRow[] = [...PEOPLE_FORMS, ...LIMIT_FORMS, ...SYSTEM_FORMS, ...MACHINE_FORMS]
