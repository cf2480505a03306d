import type en from '../en/terminate.ts'
import { type Translation } from '../message-types.ts'

export default {
  terminateTitle: '“{name}” 세션을 종료할까요?',
  cancelTitle: '“{name}” 세션을 취소할까요?',
  terminateCount: '{count, plural, other {세션 #개를 종료할까요?}}',
  cancelCount: '{count, plural, other {세션 #개를 취소할까요?}}',
  terminateLabel: '{count, plural, =1 {세션 종료} other {세션 #개 종료}}',
  cancelLabel: '{count, plural, =1 {세션 취소} other {세션 #개 취소}}',
  terminatingOne: '{name} 세션을 종료하는 중입니다.',
  cancelledOne: '{name} 세션을 취소했습니다.',
  terminatingMany: '세션 {count, number}개를 종료하는 중입니다.',
  cancelledMany: '세션 {count, number}개를 취소했습니다.',
  stillThere: '{total, number}개 중 {failed, number}개가 아직 남아 있습니다: {names}.',
  ownersMore: '{owners} 외 {count, number}명',
  whyEnded: '소유자에게 알릴 사유 (선택)',
  allForeign:
    '{count, plural, other {<b>소유자는 {owners}입니다.</b> 종료 사유와 함께 내 이메일 주소({you})가 소유자에게 표시됩니다.}}',
  someForeign:
    '<b>이 중 {count, number}개의 소유자는 {owners}입니다.</b> 종료 사유와 함께 내 이메일 주소({you})가 소유자에게 표시됩니다.',
  stop: '{count, plural, other {세션의 프로그램이 즉시 멈춥니다.}}',
  foldersStay: '<b>{names} 폴더의 파일은 그대로 남습니다.</b>',
  mountedStay: '<b>마운트한 폴더의 파일은 그대로 남습니다.</b>',
  noneMounted: '<b>마운트한 폴더가 없습니다.</b>',
  homesKept:
    '{count, plural, other {홈의 나머지 파일은 공간이 있는 동안 하루 정도 보관되고, 다른 파일은 모두 삭제됩니다.}}',
  wholeHomesKept: '{count, plural, other {홈은 공간이 있는 동안 하루 정도 보관되고, 다른 파일은 모두 삭제됩니다.}}',
  someHomesKept: '컨테이너가 하나인 세션의 홈은 공간이 있는 동안 하루 정도 보관되고, 다른 파일은 모두 삭제됩니다.',
  restDeleted: '다른 파일은 모두 삭제됩니다.',
  allDeleted: '<b>모든 파일이 삭제됩니다.</b>',
  copyFirst: '필요한 파일은 SFTP 등으로 먼저 복사하세요.',
  nothingLost: '{count, plural, other {아직 시작되지 않은 세션이므로 잃는 것이 없습니다.}}',
  andMore: '외 {count, number}개',
} satisfies Translation<typeof en>
