import en from '../words/en/amounts.ts'
import { defineWords } from '../words/i18n.ts'

export const t = defineWords('amounts', en)
