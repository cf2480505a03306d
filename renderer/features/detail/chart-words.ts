import en from '../../words/en/charts.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('charts', en)
