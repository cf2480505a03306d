import en from '../../../words/en/admin-overview.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-overview', en)
