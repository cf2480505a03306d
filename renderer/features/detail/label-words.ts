import en from '../../words/en/labels.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('labels', en)
