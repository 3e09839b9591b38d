/* test_events.c - tasks that wait for OpenCL events, and events that tell of tasks. */
#include "tasks.h"
#include <kry/opencl.h>

static void events__in_and_out(void **state)
{
    kry_type type = type_of(state);
    kry_queue *q = queue_of(device());
    cl_context context = kry_device_context(device());
    cl_int err;
    cl_event in[2] = { clCreateUserEvent(context, &err), clCreateUserEvent(context, &err) }, out,
             late;
    kry_vec *v;
    kry_task *arrived, *norm;
    double number;

    OK(kry_vec_create(device(), type, 64, 1, &v));
    OK(kry_vec_fill(v, 2));
    OK(kry_device_finish(device()));
    OK(kry_task_of_events(in, 2, v, &arrived));
    OK(kry_task_norm2(q, arrived, &norm));
    OK(kry_task_event(norm, NULL, &out));
    assert_int_equal(kry_task_state(norm), KRY_TASK_WAITING);
    clSetUserEventStatus(in[1], CL_COMPLETE);
    assert_int_equal(kry_task_state(arrived), KRY_TASK_WAITING);
    clSetUserEventStatus(in[0], CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &out), CL_SUCCESS);
    OK(kry_task_number(norm, &number));
    NEAR(number, 16, 16 * 100 * eps_of(acc_type()), "norm");
    OK(kry_task_event(norm, context, &late)); /* it has ended */
    assert_int_equal(clWaitForEvents(1, &late), CL_SUCCESS);
    REFUSES(kry_task_event(NULL, NULL, &out), KRY_ERR_ARGUMENT, "NULL");
    clReleaseEvent(late);
    for (int i = 0; i < 2; i++) clReleaseEvent(in[i]);
    kry_task_release(&arrived), kry_task_release(&norm);
    OK(kry_queue_finish(q));
    kry_vec_release(&v);
    kry_queue_release(&q);
}

static void events__failures(void **state)
{
    (void)state;
    kry_queue *q = queue_of(device()), *h = queue_of(NULL);
    cl_int err, how = 0;
    cl_event in = clCreateUserEvent(kry_device_context(device()), &err), out;
    kry_task *arrived, *norm, *host;
    kry_vec *v;

    OK(kry_vec_create(device(), KRY_F32, 5, 1, &v));
    OK(kry_task_of_events(&in, 1, v, &arrived));
    kry_vec_release(&v);
    OK(kry_task_norm2(q, arrived, &norm));
    OK(kry_task_event(norm, NULL, &out));
    clSetUserEventStatus(in, -7);
    REFUSES(wait_for(arrived), KRY_ERR_DEVICE, "an event that 'events' waits for ended with");
    REFUSES(wait_for(norm), KRY_ERR_DEVICE, "because 'events' failed: an event");
    assert_null(kry_task_vec(arrived));
    OK(kry_queue_finish(q));
    assert_int_equal(clGetEventInfo(out, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof how, &how, NULL),
                     CL_SUCCESS);
    assert_int_equal(how, KRY_ERR_DEVICE);
    clReleaseEvent(out), clReleaseEvent(in);
    OK(kry_task_submit(h, KRY_JOB(.run = nothing), NULL, 0, &host));
    REFUSES(kry_task_event(host, NULL, &out), KRY_ERR_ARGUMENT, "name the context");
    assert_null(out);
    in = NULL;
    kry_task_release(&arrived);
    REFUSES(kry_task_of_events(&in, 1, NULL, &arrived), KRY_ERR_ARGUMENT, "event 0 is NULL");
    OK(kry_task_of_events(NULL, 0, NULL, &arrived));
    OK(wait_for(arrived));
    kry_task_release(&arrived), kry_task_release(&norm), kry_task_release(&host);
    kry_queue_release(&q), kry_queue_release(&h);
}

/* A command of the caller's own queue, that nobody has flushed. */
static void events__of_an_own_queue(void **state)
{
    (void)state;
    kry_device *dev = another_device();
    kry_queue *q = queue_of(dev);
    cl_int err;
    cl_command_queue mine =
        clCreateCommandQueue(kry_device_context(dev), kry_device_id(dev), 0, &err);
    cl_event done;
    kry_vec *v;
    kry_task *arrived, *norm;
    float three_four[2] = { 3, 4 };
    double number;

    assert_int_equal(err, CL_SUCCESS);
    OK(kry_vec_create(dev, KRY_F32, 2, 1, &v));
    OK(kry_device_finish(dev));
    assert_int_equal(clEnqueueWriteBuffer(mine, kry_vec_buffer(v, NULL), CL_FALSE, 0,
                                          sizeof three_four, three_four, 0, NULL, &done),
                     CL_SUCCESS);
    OK(kry_task_of_events(&done, 1, v, &arrived));
    OK(kry_task_norm2(q, arrived, &norm));
    OK(wait_for(norm));
    OK(kry_task_number(norm, &number));
    NEAR(number, 5, 1e-5, "norm");
    clReleaseEvent(done);
    clReleaseCommandQueue(mine);
    kry_task_release(&arrived), kry_task_release(&norm);
    kry_vec_release(&v);
    kry_queue_release(&q);
    kry_device_release(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(events__in_and_out),
        cmocka_unit_test(events__failures),
        cmocka_unit_test(events__of_an_own_queue),
    };
    return cmocka_run_group_tests(tests, NULL, close_device);
}
