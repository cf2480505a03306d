import en from '../../words/en/explorer.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('explorer', en)
