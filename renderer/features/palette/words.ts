import en from '../../words/en/palette.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('palette', en)
