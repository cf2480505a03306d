import en from '../../words/en/usage.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('usage', en)
