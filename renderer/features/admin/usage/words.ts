import en from '../../../words/en/admin-usage.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-usage', en)
