import en from '../../words/en/detail.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('detail', en)
