import type en from '../en/opening.ts'
import { type Translation } from '../message-types.ts'

export default {
  startingTab: '{app} 시작 중…',
  ownTunnel: '{session} 세션의 {app} 연결',
  processOf: '{program}(프로세스 {pid})',
  aProgram: '프로그램',
  tunnelCount: '{count, plural, other {열린 터널 #개}}',
} satisfies Translation<typeof en>
