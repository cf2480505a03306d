import en from '../../../words/en/admin-limits.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-limits', en)
