import en from '../../words/en/preview.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('preview', en)
