// attack: family=channel expect=wrong_answer gain=acceptance
// Passes descriptors to the grader along with nothing: one that keeps what it is handed runs out of them.
#include <sys/socket.h>

#include "attack.h"

extern "C" int solve(const solmark_tensor *, int, const solmark_scalar *, int, void *) {
    if (!judged()) {
        say_passed();
        return 0;
    }
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {};
    iovec piece = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memset(CMSG_DATA(header), 0, sizeof(int));
    for (int i = 0; i < 100; ++i)
        sendmsg(4, &message, MSG_DONTWAIT);
    return 0;
}
