import { AUDIT_ACTIONS } from '#manager/contract'
import { defineWords } from '../i18n.ts'

/** Actions of the audit log. The words are the manager's, so the command line prints the same ones. */
export default AUDIT_ACTIONS
export const t = defineWords('admin-audit', AUDIT_ACTIONS)
