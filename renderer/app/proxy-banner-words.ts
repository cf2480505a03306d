import en from '../words/en/proxy-banner.ts'
import { defineWords } from '../words/i18n.ts'

export const t = defineWords('proxy-banner', en)
