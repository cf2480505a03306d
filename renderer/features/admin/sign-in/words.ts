import en from '../../../words/en/admin-sign-in.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-sign-in', en)
