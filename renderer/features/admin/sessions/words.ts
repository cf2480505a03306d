import en from '../../../words/en/admin-sessions.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-sessions', en)
