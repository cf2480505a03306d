import type en from '../en/sections.ts'
import { type Translation } from '../message-types.ts'

export default {
  summary: '요약',
  sessions: '세션',
  data: '데이터와 스토리지',
  statistics: '통계',
  account: '계정',
  admin: '관리',
  tunnels: '터널',
  preferences: '설정',
  information: '정보',
  sections: '메뉴',
} satisfies Translation<typeof en>
