import en from '../../words/en/summary.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('summary', en)
