import en from '../../../words/en/admin-agents.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-agents', en)
