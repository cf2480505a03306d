import en from '../../words/en/account.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('account', en)
