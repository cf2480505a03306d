import en from '../../words/en/opening.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('opening', en)
