import en from '../../words/en/launch.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('launch', en)
