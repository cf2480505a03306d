import en from '../../../words/en/admin-users.ts'
import { defineWords } from '../../../words/i18n.ts'

export const t = defineWords('admin-users', en)
