import en from '../../words/en/statistics.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('statistics', en)
