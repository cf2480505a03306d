import en from '../../../words/en/admin-system.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-system', en)
